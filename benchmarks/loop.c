/* The reference job by hand: durations, queues and outputs in one loop. */
#include <math.h>
#include <stdint.h>

void run_job(int64_t count, const double *size, const double *intensity, const double *memory, const double *arrival,
             double *out_fraction, int32_t *out_gpu, double *out_cpu_start, double *out_gpu_start, double *out_finish,
             double *out_cpu, double *out_gpu_part, int8_t *out_status)
{
    double cpu_free = 0.0, gpu_free[4] = {0.0, 0.0, 0.0, 0.0};
    for (int64_t i = 0; i < count; i++) {
        double now = arrival[i], share = intensity[i], ratio = size[i] / 1000.0;
        double base = ratio * sqrt(ratio) / (share + 0.5);
        double cpu_part = (1.0 - share) * base;
        double gpu_part = share * (base / (1.0 + 3.0 * share) + memory[i] / 16000.0);
        int best = 0;
        double least = fmax(gpu_free[0] - now, 0.0);
        for (int gpu = 1; gpu < 4; gpu++) {
            double backlog = fmax(gpu_free[gpu] - now, 0.0);
            if (backlog < least) {
                best = gpu;
                least = backlog;
            }
        }
        double cpu_start = NAN, gpu_start = NAN, finish = now;
        if (cpu_part > 0.0) {
            cpu_start = cpu_free > now ? cpu_free : now;
            finish = cpu_free = cpu_start + cpu_part;
        }
        if (gpu_part > 0.0) {
            gpu_start = gpu_free[best] > now ? gpu_free[best] : now;
            gpu_free[best] = gpu_start + gpu_part;
            if (gpu_free[best] > finish)
                finish = gpu_free[best];
        }
        out_fraction[i] = share;
        out_gpu[i] = gpu_part > 0.0 ? best : -1;
        out_cpu_start[i] = cpu_start;
        out_gpu_start[i] = gpu_start;
        out_finish[i] = finish;
        out_cpu[i] = cpu_part;
        out_gpu_part[i] = gpu_part;
        out_status[i] = 0;
    }
}
